// Package embedded holds the models inside the program. Of this module only cmd imports it, so that a library user does not
// carry their bytes.
package embedded

import (
	"embed"
	"io/fs"

	"github.com/erreval/erreval/models"
)

//go:embed all:default all:verifier
var files embed.FS

// Default is the directory of the default identifier, as models.OpenFS reads it.
func Default() fs.FS { return folder(models.DefaultName) }

// Verifier is the directory of its verifier.
func Verifier() fs.FS { return folder(models.VerifierName) }

func folder(name string) fs.FS {
	sub, err := fs.Sub(files, name)
	if err != nil {
		panic(err) // both names are valid paths
	}
	return sub
}
