#!/bin/bash
# What programs see of the CUDA library is what NVIDIA's headers and library say: functions, numbers,
# sizes of structs and places of fields.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1

nvcc=$(command -v nvcc)
root=${nvcc%/bin/nvcc}
if [ -z "$nvcc" ] || [ ! -r "$root/include/cuda_runtime_api.h" ]; then
  echo "1..0 # SKIP there is no CUDA toolkit on this machine"
  exit 0
fi
version=$(nvcc --version | sed -nE 's/.*release ([0-9]+)\..*/\1/p')

# Every function of the toolkit's library, of its version, and none besides.
functions() { nm -D --defined-only "$1" | sed -nE "s/.* T (.*)@+libcudart\.so\.$version\$/\1/p" | sort; }
theirs=$(functions "$root/lib64/libcudart.so.$version")
ours=$(functions "$TOP/lib/libcudart.so.$version")
is "the functions of libcudart.so.$version" "$theirs" "$ours"
is "no other name is seen, but for those of stand-ins (src/runtime/work.h)" "" \
  "$(nm -D --defined-only "$TOP/lib/libcudart.so.13" | grep -vE ' A |@libcudart\.so\.1[23]$' |
    grep -vE ' T (cu[A-Z]|gilua_work)')"

# The driver's, as NVIDIA's stand-in for linking has them.
stub=$root/lib64/stubs/libcuda.so
if [ "$version" = 13 ] && [ -r "$stub" ]; then
  driver() { nm -D --defined-only "$1" | sed -nE 's/.* [TW] (cu[A-Z].*)$/\1/p' | grep -v @ | sort; }
  is "the functions of libcuda.so.1" "$(driver "$stub")" "$(driver "$TOP/lib/libcuda.so.1")"
  {
    echo '#include <cuda.h>'
    echo '#include <stdio.h>'
    echo 'int main(void) { const char *text = "";'
    grep -oE '^ +CUDA_(ERROR_[A-Z0-9_]+|SUCCESS) *=' "$root/include/cuda.h" | tr -d ' =' | sort -u |
      sed 's/.*/cuGetErrorName(&, \&text); printf("& %s\\n", text);/'
    echo 'return 0; }'
  } >names.c
  gcc -I"$root/include" -o names names.c -L"$root/lib64/stubs" -lcuda 2>log
  ok $? "a program of the driver API builds" "$(cat log)"
  named=$(sanitizer_first && "$GILUA" run --quiet -- ./names)
  ok "$([ "$(wc -l <<<"$named")" -gt 80 ]; echo $?)" "it prints the names of errors"
  is "each as it is written" "" "$(awk '$1 != $2' <<<"$named")"
fi

# pairs: THEIRS OURS, a struct or a field of it a line; both sides' sizes and offsets are compared.
table() { # table COLUMN INCLUDE: a program that prints them
  echo "#include <stddef.h>"
  echo "#include <stdio.h>"
  echo "$2"
  echo "int main(void) {"
  awk -v c="$1" '/\./ { split($c, p, "."); f = $c; sub(/^[^.]*\./, "", f)
      printf "printf(\"%s %%zu %%zu\\n\", offsetof(%s, %s), sizeof(((%s *)0)->%s));\n", $1, p[1], f, p[1], f; next }
    NF { printf "printf(\"%s %%zu\\n\", sizeof(%s));\n", $1, $c }' pairs
  echo "return 0; }"
}
compare() { # compare TEXT HEADER: what is in pairs
  table 1 "#include <cuda_runtime_api.h>" >theirs.cc
  table 2 "#include \"$2\"" >ours.c
  g++ -I"$root/include" -o theirs theirs.cc 2>log && gcc -std=c11 -I"$TOP/src" -o ours ours.c 2>>log
  ok $? "$1: both compile" "$(cat log)"
  is "$1" "$(./theirs)" "$(./ours)"
}

sed 's/ *#.*//' >pairs <<'END'
cudaExtent CudaExtent
cudaPos CudaPos
cudaPitchedPtr CudaPitched
cudaMemcpy3DParms CudaCopy3D
cudaMemcpy3DParms.srcArray CudaCopy3D.from_array
cudaMemcpy3DParms.srcPos CudaCopy3D.from_pos
cudaMemcpy3DParms.srcPtr CudaCopy3D.from
cudaMemcpy3DParms.dstArray CudaCopy3D.to_array
cudaMemcpy3DParms.dstPos CudaCopy3D.to_pos
cudaMemcpy3DParms.dstPtr CudaCopy3D.to
cudaMemcpy3DParms.extent CudaCopy3D.extent
cudaMemcpy3DParms.kind CudaCopy3D.kind
cudaMemcpy3DPeerParms CudaCopy3DPeer
cudaMemcpy3DPeerParms.srcDevice CudaCopy3DPeer.from_device
cudaMemcpy3DPeerParms.dstDevice CudaCopy3DPeer.to_device
cudaMemcpy3DPeerParms.extent CudaCopy3DPeer.extent
cudaMemsetParams CudaMemset
cudaMemsetParams.value CudaMemset.value
cudaMemsetParams.elementSize CudaMemset.element_size
cudaMemsetParams.width CudaMemset.width
cudaPointerAttributes CudaPointerAttributes
cudaPointerAttributes.devicePointer CudaPointerAttributes.device_pointer
cudaPointerAttributes.hostPointer CudaPointerAttributes.host_pointer
cudaMemLocation CudaMemLocation
cudaMemPoolProps CudaPoolProps
cudaMemPoolProps.handleTypes CudaPoolProps.handle_types
cudaMemAccessDesc CudaMemAccess
cudaMemAccessDesc.flags CudaMemAccess.flags
cudaChannelFormatDesc CudaChannelDesc
cudaChannelFormatDesc.f CudaChannelDesc.f
cudaResourceDesc CudaResourceDesc
cudaResourceDesc.res.array.array CudaResourceDesc.array
cudaResourceDesc.res.linear.desc CudaResourceDesc.linear.desc
cudaResourceDesc.res.linear.sizeInBytes CudaResourceDesc.linear.bytes
cudaResourceDesc.res.pitch2D.desc CudaResourceDesc.pitch.desc
cudaResourceDesc.res.pitch2D.width CudaResourceDesc.pitch.width
cudaResourceDesc.res.pitch2D.pitchInBytes CudaResourceDesc.pitch.pitch
cudaTextureDesc CudaTextureDesc
cudaTextureDesc.addressMode CudaTextureDesc.address
cudaTextureDesc.filterMode CudaTextureDesc.filter
cudaTextureDesc.readMode CudaTextureDesc.read
cudaTextureDesc.sRGB CudaTextureDesc.srgb
cudaTextureDesc.borderColor CudaTextureDesc.border
cudaTextureDesc.normalizedCoords CudaTextureDesc.normalized_coords
cudaResourceViewDesc CudaResourceViewDesc
cudaResourceViewDesc.lastLayer CudaResourceViewDesc.last_layer
cudaFuncAttributes CudaFuncAttributes
cudaFuncAttributes.localSizeBytes CudaFuncAttributes.local_bytes
cudaFuncAttributes.maxThreadsPerBlock CudaFuncAttributes.max_threads
cudaFuncAttributes.numRegs CudaFuncAttributes.registers
cudaFuncAttributes.maxDynamicSharedSizeBytes CudaFuncAttributes.max_dynamic_shared
cudaFuncAttributes.preferredShmemCarveout CudaFuncAttributes.carveout
cudaLaunchAttribute_st CudaLaunchAttribute
cudaLaunchAttribute_st.val CudaLaunchAttribute.value
cudaLaunchAttribute_st.val.clusterDim CudaLaunchAttribute.value.cluster
cudaLaunchConfig_st CudaLaunchConfig
cudaLaunchConfig_st.dynamicSmemBytes CudaLaunchConfig.shared
cudaLaunchConfig_st.stream CudaLaunchConfig.stream
cudaLaunchConfig_st.attrs CudaLaunchConfig.attributes
cudaLaunchConfig_st.numAttrs CudaLaunchConfig.n_attributes
cudaKernelNodeParams CudaKernelNode
cudaKernelNodeParams.gridDim CudaKernelNode.grid
cudaKernelNodeParams.blockDim CudaKernelNode.block
cudaKernelNodeParams.sharedMemBytes CudaKernelNode.shared
cudaKernelNodeParams.kernelParams CudaKernelNode.params
cudaHostNodeParams CudaHostNode
END
compare "structs" runtime/abi.h

# cudaDeviceProp, field by field in order.
fields() { # fields FILE: names of the struct's fields as the compiler reads them
  sed -n '/struct .*cudaDeviceProp$/,/^};/p' "$root/include/driver_types.h" | sed 's,/\*.*,,' |
    sed -nE 's/^ .* ([A-Za-z0-9]+)(\[[0-9]+\])?;.*/\1/p'
}
own() { # fields of PROPERTIES for this version
  sed -n '/^#define PROPERTIES/,/[^\\]$/p' "$TOP/src/runtime/properties.h" | grep -oE '[BON]\([^)]*\)' |
    grep -E "^[B$([ "$version" = 12 ] && echo O || echo N)]\([a-zA-Z]" | sed -nE 's/^.\([^,]*, ([a-z0-9_]+),.*/\1/p'
}
echo "cudaDeviceProp Properties$version" >pairs
paste -d' ' <(fields | sed 's/^/cudaDeviceProp./') <(own | sed "s/^/Properties$version./") >>pairs
ok "$([ "$(wc -l <pairs)" -gt 85 ]; echo $?)" "cudaDeviceProp has fields"
compare "cudaDeviceProp" runtime/properties.h

# Every number that abi.h gives a CUDA name.
grep -oE '\bcuda[A-Z][A-Za-z0-9]+ = [0-9]+' "$TOP/src/runtime/abi.h" | sed 's/ = / /' | sort >numbers
{
  echo '#include <cuda_runtime_api.h>'
  echo '#include <stdio.h>'
  echo 'int main(void) {'
  while read -r name _; do echo "printf(\"$name %d\\n\", (int)$name);"; done <numbers
  echo 'return 0; }'
} >numbers.c
gcc -I"$root/include" -o numbers.bin numbers.c 2>log
ok $? "CUDA knows all of the names" "$(cat log)"
is "numbers" "$(./numbers.bin)" "$(cat numbers)"
finish
