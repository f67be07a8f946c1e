// Package embedded holds the models inside the program. Of this module only cmd imports it, so that a library user does
// not carry their bytes.
package embedded

import (
	"embed"
	"io/fs"
)

//go:embed all:default all:instruction-following
var files embed.FS

// Default is the directory of the model for questions.
func Default() fs.FS { return Models()[0] }

// Models are the directories of the models, as models.OpenFS reads them: for questions, then for responses.
func Models() []fs.FS {
	var out []fs.FS
	for _, name := range []string{"default", "instruction-following"} {
		sub, err := fs.Sub(files, name)
		if err != nil {
			panic(err) // the name is a valid path
		}
		out = append(out, sub)
	}
	return out
}
