//go:build !ort_capi

package onnx

import binding "github.com/yalue/onnxruntime_go"

// What package ort uses of onnxruntime_go.
type (
	Value                        = binding.Value
	Shape                        = binding.Shape
	Tensor[T binding.TensorData] = binding.Tensor[T]
	SessionOptions               = binding.SessionOptions
	DynamicAdvancedSession       = binding.DynamicAdvancedSession
)

// LoggingLevelFatal keeps the library from printing the errors that it returns.
const LoggingLevelFatal = binding.LoggingLevelFatal

var (
	SetSharedLibraryPath                  = binding.SetSharedLibraryPath
	InitializeEnvironment                 = binding.InitializeEnvironment
	WithLogLevelFatal                     = binding.WithLogLevelFatal
	GetVersion                            = binding.GetVersion
	NewShape                              = binding.NewShape
	NewSessionOptions                     = binding.NewSessionOptions
	NewCUDAProviderOptions                = binding.NewCUDAProviderOptions
	NewRunOptions                         = binding.NewRunOptions
	NewDynamicAdvancedSession             = binding.NewDynamicAdvancedSession
	NewDynamicAdvancedSessionWithONNXData = binding.NewDynamicAdvancedSessionWithONNXData
)

// NewTensor is a tensor over data, which it keeps.
func NewTensor[T binding.TensorData](s Shape, data []T) (*Tensor[T], error) {
	return binding.NewTensor(s, data)
}

// NewEmptyTensor is a tensor of zeros.
func NewEmptyTensor[T binding.TensorData](s Shape) (*Tensor[T], error) {
	return binding.NewEmptyTensor[T](s)
}
