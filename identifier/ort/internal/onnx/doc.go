// Package onnx is the binding to ONNX Runtime's C API that package ort uses: onnxruntime_go, or, with the build tag
// ort_capi, the calls written here. The tag is for machines whose module proxy does not serve onnxruntime_go;
// scripts/goflags.sh sets it there. Both run the same library, and the same tests hold for both.
package onnx
