package ort

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

// preload returns NULL, or why the library cannot be loaded, to be freed. dlerror reports errors of the calling thread,
// so it is called here.
static char *preload(const char *path) {
	if (dlopen(path, RTLD_LAZY | RTLD_GLOBAL) != NULL) {
		return NULL;
	}
	const char *why = dlerror();
	return strdup(why != NULL ? why : "unknown error");
}
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// LoadError says that a shared library cannot be loaded.
type LoadError struct {
	Path   string // as it was given: a path, or a name that the loader looks for
	Reason string // the loader's
}

func (e *LoadError) Error() string { return fmt.Sprintf("cannot load %s: %s", e.Path, e.Reason) }

// Preload loads shared libraries into the process, in that order and until it ends, so that ONNX Runtime's providers
// find them outside the loader's paths. The error is a *LoadError.
func Preload(paths []string) error {
	for _, path := range paths {
		name := C.CString(path)
		why := C.preload(name)
		C.free(unsafe.Pointer(name))
		if why != nil {
			err := &LoadError{path, C.GoString(why)}
			C.free(unsafe.Pointer(why))
			return err
		}
	}
	return nil
}
