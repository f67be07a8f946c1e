package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/convert"
	"github.com/erreval/erreval/training/refine"
)

// encoder is the folder of an encoder as a workspace names it: for a task of a model inside the program, that model's
// encoder in the cache.
func (e *env) encoder(name string) (string, error) {
	model, manifest, err := e.machine().Trained(name)
	if manifest == nil || err != nil {
		return name, err
	}
	cache, err := nativelib.CacheDir(e.Getenv)
	if err != nil {
		return "", err
	}
	to := filepath.Join(cache, "encoders", fmt.Sprintf("%s-%.12s", manifest.Name, manifest.Files[models.GraphFile].SHA256))
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		return to, err
	}
	if err := convert.Restore(model, to); err != nil {
		return "", fmt.Errorf("making a checkpoint of the model for %s: %w", name, err)
	}
	return to, nil
}

// encoderForOthers is the task of the encoder with which training begins for a task that no model inside the program
// fits: it has read texts of all kinds.
const encoderForOthers = "instruction-following"

// startFrom sets what --start names: a model that chooses the first batch, and, of one inside the program, its encoder,
// with which training begins. One that was trained for another task gives the encoder alone.
func (e *env) startFrom(start string, o *refine.InitOptions) error {
	fits, err := e.machine().DefaultFor(o.Taxonomy)
	if err != nil {
		return err
	}
	o.Start = start
	switch {
	case fits != nil && (start == "" || start == refine.StartDefault):
		start, _, _ = strings.Cut(fits.Taxonomy, "@")
	case start == refine.StartDefault:
		start = encoderForOthers
	}
	_, trained, err := e.machine().Trained(start)
	switch {
	case err != nil:
		return err
	case trained == nil:
		return nil
	}
	o.Start, o.Encoder = refine.StartNone, start
	if trained.Fits(o.Taxonomy) == nil {
		o.Start = refine.StartDefault
	}
	return nil
}
