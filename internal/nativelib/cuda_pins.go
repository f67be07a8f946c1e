package nativelib

// cudaWheels were recorded on 2026-11-21 from the packages that PyPI served: size and SHA-256 are those of the unpacked
// files. They are in the order in which they must be loaded. Files that are not used here are left out: TensorRT's
// provider, nvblas, cufftw, Python's own.
var cudaWheels = []wheel{
	{pypi("nvidia-cuda-runtime", "13.5.37", "manylinux2014_x86_64", 2504024), []pin{
		{member: "nvidia/cu13/lib/libcudart.so.13", size: 806720,
			sha256: "be114eaabb3f3251cf30b6e334be5e8c3cf1b12c0a11c17295a810dd83cc141a"},
	}},
	{pypi("nvidia-cublas", "13.10.0.20", "manylinux_2_5_x86_64", 444289903), []pin{
		{member: "nvidia/cu13/lib/libcublasLt.so.13", size: 551653208,
			sha256: "b58e18ab4a6adc9bf4833d5cfe28db688e675fd6021db7eaf5da78d23f95d2de"},
		{member: "nvidia/cu13/lib/libcublas.so.13", size: 57282152,
			sha256: "863f349b5352363c66079090d43d9d56ad3d676373ecac18418fd4fb2d0579d1"},
	}},
	{pypi("nvidia-curand", "10.4.5.25", "manylinux_2_27_x86_64", 77113015), []pin{
		{member: "nvidia/cu13/lib/libcurand.so.10", size: 104860296,
			sha256: "82586610865e67dc73505087e04dd40a3cc69b281028731ce763faafe14b1347"},
	}},
	{pypi("nvidia-nvjitlink", "13.5.37", "manylinux2010_x86_64", 46642491), []pin{
		{member: "nvidia/cu13/lib/libnvJitLink.so.13", size: 117247464,
			sha256: "0ba4a7e2c0819291ce928513755f4931dd69c77c63fb77677d14dc1360f28601"},
	}},
	{pypi("nvidia-cufft", "12.5.0.14", "manylinux2014_x86_64", 165072555), []pin{
		{member: "nvidia/cu13/lib/libcufft.so.12", size: 236983152,
			sha256: "fbc2100d3725d93ebd5c407c4c33717097f34ec0fd01ee899be4c9712b671774"},
	}},
	{pypi("nvidia-cuda-nvrtc", "13.5.37", "manylinux2010_x86_64", 58185930), []pin{
		{member: "nvidia/cu13/lib/libnvrtc-builtins.so.13.5", size: 7268296,
			sha256: "6cecb2fd3e562bab1cb1c6e192f8f828157683c8febb22a00e178f9faf4e7f6a"},
		{member: "nvidia/cu13/lib/libnvrtc.so.13", size: 141163664,
			sha256: "98a317ff5d2176dee5a04235c6663f8d553d5ed95b3104cbf7fb198cbf76a10d"},
	}},
	{pypi("nvidia-cudnn-cu13", "9.28.0.42", "manylinux_2_27_x86_64", 516782127), []pin{
		{member: "nvidia/cudnn/lib/libcudnn.so.9", size: 137432,
			sha256: "727cf38cefa39f745dee3caa207395163a86e8fafdb47e3af6d185fdd67858d4"},
		{member: "nvidia/cudnn/lib/libcudnn_graph.so.9", size: 149118552,
			sha256: "85b298a6d79f972cffa0497a112f4b9bfc8299fdc08134607145a7d346febe69"},
		{member: "nvidia/cudnn/lib/libcudnn_ops.so.9", size: 35661648,
			sha256: "175918d68a9e5f92b072200dc3e1cde70fc5f1497cf9d9b9d7f4a18aa9e6df8d"},
		{member: "nvidia/cudnn/lib/libcudnn_cnn.so.9", size: 4204144,
			sha256: "8e4f3c018a5f0e5ca6718cb0760c0039eccab9771e8bd358c2aa34ea4f4d3ae6"},
		{member: "nvidia/cudnn/lib/libcudnn_adv.so.9", size: 92392360,
			sha256: "dacc728ce31957600d3dd6c3767bb6706424651d9c572d5938934fa62652c7ee"},
		{member: "nvidia/cudnn/lib/libcudnn_ext.so.9", size: 10492592,
			sha256: "46c273e178b7733ffa5d56bd9719f378a20b94e07d2ccf23c4078e22bced0652"},
		{member: "nvidia/cudnn/lib/libcudnn_heuristic.so.9", size: 96473968,
			sha256: "0a7d28b75585be9a59a1dc289ca833014987e379ee60393db17bf2571126cc7a"},
		{member: "nvidia/cudnn/lib/libcudnn_engines_precompiled.so.9", size: 260072128,
			sha256: "67452bcacd3e0e9cbb17f25be1716209749d67798ffab637ed15bcd7c6144f62"},
		{member: "nvidia/cudnn/lib/libcudnn_engines_runtime_compiled.so.9", size: 41978752,
			sha256: "274ebd014eda330d14ca01b7330d8e891f273426dac5f3cace2e14a5ae871e70"},
		{member: "nvidia/cudnn/lib/libcudnn_engines_tensor_ir.so.9", size: 249581552,
			sha256: "03eca268e48e9730ea06b0099b2dbbb1eedd5e9864413f8bdd34e412f4aeb5d1"},
	}},
	{pypi("onnxruntime-gpu", "1.31.1", "manylinux_2_28_x86_64", 255569273), []pin{
		{member: "onnxruntime/capi/libonnxruntime_providers_shared.so", size: 14632,
			sha256: "086ec1d5388f64153d9c63470d126693db9a182c8ce236d3a1119068471b8a0d"},
		{member: "onnxruntime/capi/libonnxruntime_providers_cuda.so", size: 284014752,
			sha256: "8387867e857499e045caff5d13ac6a5de29571c801562fa2dde0e45f1f31de52"},
		{member: "onnxruntime/capi/libonnxruntime.so.1.31.1", size: 29421832,
			sha256: "5104254339ecadae808da771bd0b63b240f0dbd466514234905e54372435c303"},
	}},
}

func pypi(project, version, platform string, download int64) pin {
	return pin{project: project, version: version, platform: platform, download: download}
}
