package refine

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/training/review"
)

// madeOfFile in the folder of a run says what it is made of: a madeOf.
const madeOfFile = "made_of.json"

// madeOf is all that a training depends on, by what a person calls it: keys of refine.yaml, and rows by their hash.
type madeOf map[string]any

// yamlNames of settings that TrainConfig calls otherwise.
var yamlNames = map[string]string{"rate": "learning_rate", "maxtokens": "max_tokens"}

// madeOf is what this run depends on, its settings as they come back from JSON.
func (t *training) madeOf(train, dev []byte) (madeOf, error) {
	hash := func(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }
	data, err := json.Marshal(t.w.Config.Train)
	var settings madeOf
	if err = errors.Join(err, json.Unmarshal(data, &settings)); err != nil {
		return nil, err
	}
	out := madeOf{"the rows to train on": hash(train), "the development rows": hash(dev),
		"the taxonomy": t.w.Taxonomy.Hash(), "trainer": words.QuoteAll(t.o.Trainer), "encoder's folder": t.o.Encoder,
		"weights to begin with": t.init(TaskIdentifier)}
	for name, v := range settings {
		name = strings.ToLower(name)
		if other, ok := yamlNames[name]; ok {
			name = other
		}
		out[name] = v
	}
	return out, nil
}

// changes says what differs from another run; a hash is no help to a reader.
func (m madeOf) changes(from madeOf) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		switch was, is := fmt.Sprint(from[name]), fmt.Sprint(m[name]); {
		case was == is:
		case strings.HasPrefix(name, "the "):
			out = append(out, name)
		default:
			out = append(out, fmt.Sprintf("%s %s (it was %s)", name, is, was))
		}
	}
	return strings.Join(out, ", ")
}

// checkLost refuses to begin anew where that throws a stopped training away, unless the user asked for that.
func (t *training) checkLost(m madeOf) error {
	u, err := t.w.underway()
	if err != nil || u == nil || u.dir == t.work || t.o.Again || u.Done == 0 && u.Task == TaskIdentifier {
		return err
	}
	changed := "its settings or its rows"
	var was madeOf
	if review.ReadJSON(filepath.Join(u.dir, madeOfFile), regularfile.Max, &was) == nil {
		changed = m.changes(was)
	}
	return optionErrorf("a training %s, and since then something was changed: %s\n"+
		"To go on with it, put that back and type the same line; with --finish it then ends with its best epoch so far. "+
		"To begin anew, and lose %s, give --again", u.words(), changed, u.lost())
}

// lost says what goes with a training.
func (u *Underway) lost() string {
	text := words.Plural(u.Done, "epoch", "epochs") + " of the " + u.Task
	if u.Task == TaskVerifier {
		text += " and the whole identifier"
	}
	if u.Seconds > 0 {
		text += ", " + duration(u.Seconds)
	}
	return text
}

// ErrNoEpoch says that a training cannot be finished with its best epoch.
var ErrNoEpoch = errors.New("there is no stopped training of these rows and settings with an epoch done, " +
	"so that --finish has nothing to finish; leave it out to train")

// checkFinish looks whether there is an epoch to finish with.
func (t *training) checkFinish() error {
	if t.o.Finish && t.standing(TaskIdentifier).Best == nil {
		return ErrNoEpoch
	}
	return nil
}

// standing is how far a task of this run is.
func (t *training) standing(task string) Standing { return readStanding(filepath.Join(t.work, task)) }

// wantsVerifier tells whether a verifier is trained: in a training that is finished early, one that was begun.
func (t *training) wantsVerifier() bool {
	return t.w.Config.Train.Verifier && !(t.o.Finish && t.standing(TaskVerifier).Best == nil)
}
