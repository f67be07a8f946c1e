package ort

import (
	"fmt"
	"os"
	"sync"

	onnx "github.com/yalue/onnxruntime_go"
)

// noTelemetry, if set before the library is loaded, stops published builds since 1.29 from writing a device id and
// events into the user's cache, and from sending them to Microsoft.
const noTelemetry = "ORT_DISABLE_TELEMETRY"

// library is the process's ONNX Runtime, which can be loaded only once.
var library struct {
	sync.Mutex
	path string
}

// initialiseLibrary loads the library at path, unless it is loaded.
func initialiseLibrary(path string) error {
	library.Lock()
	defer library.Unlock()
	if library.path != "" {
		if library.path != path {
			return fmt.Errorf("ort: this process already runs %s; it cannot load %s as well", library.path, path)
		}
		return nil
	}
	if err := os.Setenv(noTelemetry, "1"); err != nil {
		return fmt.Errorf("ort: %w", err)
	}
	onnx.SetSharedLibraryPath(path)
	if err := onnx.InitializeEnvironment(onnx.WithLogLevelFatal()); err != nil {
		return fmt.Errorf("ort: cannot load %s (ONNX Runtime %s or newer is needed): %w; run 'erreval setup'", path,
			MinVersion, err)
	}
	library.path = path
	return nil
}

// Version is the version of the library at path, which it loads.
func Version(path string) (string, error) {
	if err := initialiseLibrary(path); err != nil {
		return "", err
	}
	return onnx.GetVersion(), nil
}

// TryDevice is nil if device can be used with the library at path; else the error says why not.
func TryDevice(path, device string) error {
	if err := initialiseLibrary(path); err != nil {
		return err
	}
	options, err := sessionOptions(Options{Device: device, Threads: 1})
	if err != nil {
		return err
	}
	return options.Destroy()
}
