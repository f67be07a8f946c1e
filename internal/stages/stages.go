// Package stages has the names under which cmd_serve.go and refine_select.go know internal/app/tagging.
package stages

import "github.com/erreval/erreval/internal/app/tagging"

// LocalOptions are tagging's.
type LocalOptions = tagging.LocalOptions

// OpenLocal is tagging's.
var OpenLocal = tagging.OpenLocal
