// Package embedded holds the default model inside the program. Of this module only cmd imports it, so that a library user does not
// carry its bytes.
package embedded

import (
	"embed"
	"io/fs"
)

//go:embed all:default
var files embed.FS

// Default is the directory of the default model, as models.OpenFS reads it.
func Default() fs.FS {
	sub, err := fs.Sub(files, "default")
	if err != nil {
		panic(err) // the name above is a valid path
	}
	return sub
}
