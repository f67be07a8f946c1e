package run

import (
	"encoding/json"
	"os"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/runrecord"
)

// Made is what a look at a file takes from its run record.
type Made struct {
	Taxonomy runrecord.Artefact `json:"taxonomy"`
	Columns  map[string]string  `json:"columns"`
	Options  struct {
		Map        map[string]string     `json:"map"`
		Thresholds dataset.Probabilities `json:"thresholds"`
		Aggregate  string                `json:"aggregate"` // of a run with judges
	} `json:"options"`
}

// ReadMade reads OUT.run.json; nil if there is none that can be read, which is no fault of the rows.
func ReadMade(file string) *Made {
	data, err := os.ReadFile(runrecord.Path(file))
	made := &Made{}
	if err != nil || json.Unmarshal(data, made) != nil {
		return nil
	}
	return made
}

// ReadThresholds gives those that a file was tagged with, as its run record has them; nil if they are not known.
func ReadThresholds(file string) dataset.Probabilities {
	if made := ReadMade(file); made != nil {
		return made.Options.Thresholds
	}
	return nil
}

// recordedColumns are the fields that the run which made a file read from columns of other names. Older records have
// only those that were given.
func recordedColumns(file string) map[string]string {
	made := ReadMade(file)
	if made == nil || file == Stdio {
		return nil
	}
	if made.Columns == nil {
		return made.Options.Map
	}
	return made.Columns
}
