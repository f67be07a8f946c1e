package refine

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/erreval/erreval/internal/trust"
)

// TestProgramsAreTrusted: programs that refine.yaml names run once the user has trusted them, and others not.
func TestProgramsAreTrusted(t *testing.T) {
	config := t.TempDir()
	w := &Workspace{Dir: t.TempDir()}
	python := ""
	getenv := func(name string) string {
		return map[string]string{"XDG_CONFIG_HOME": config, PythonVar: python}[name]
	}
	want := func(allowed bool) {
		t.Helper()
		err := w.checkTrust(getenv)
		if _, refused := errors.AsType[*OptionError](err); refused == allowed || allowed && err != nil {
			t.Errorf("%+v: %v", w.Config, err)
		}
	}
	trusted := func() {
		t.Helper()
		err := trust.NewStore(getenv).Add(filepath.Join(w.Dir, ConfigFile), w.Config.Programs())
		if err != nil {
			t.Fatal(err)
		}
		want(true)
	}
	want(true) // it names none
	w.Config.Python = "./python"
	want(false)
	python = "python3"
	want(true) // which goes before that of the file
	python = ""
	trusted()
	w.Config.Train.Epochs = 7
	want(true)
	w.Config.Trainer = []string{"sh", "x y"}
	want(false)
	trusted()
	for _, other := range [][]string{{"sh", "x", "y"}, {"sh x y"}, {"sh", "x y", ""}, {"./python"}} {
		w.Config.Trainer = other
		want(false)
	}
}
