// Package embedded holds the model inside the program. Of this module only cmd imports it, so that a library user does
// not carry its bytes.
package embedded

import (
	"embed"
	"io/fs"

	"github.com/erreval/erreval/models"
)

//go:embed all:default
var files embed.FS

// Default is the directory of the default identifier, as models.OpenFS reads it.
func Default() fs.FS {
	sub, err := fs.Sub(files, models.DefaultName)
	if err != nil {
		panic(err) // the name is a valid path
	}
	return sub
}
