# cmake --install makes a tree that runs wherever it is moved: bin, lib/fathom_bench and share/fathom_bench (docs/build.md).
# Components: fathom_bench (the program and small libraries), libtorch, cuda (of LibTorch and NVIDIA), tree (bin and documents).
# The wheel fathom-bench holds the first.
set(FATHOM_INSTALL_DIR lib/fathom_bench CACHE STRING "Folder of the program, below the prefix")
if(SKBUILD AND FATHOM_ALE)
  message(FATAL_ERROR "FATHOM_ALE=${FATHOM_ALE}: the wheel must not hold code under the GPL. Build it without FATHOM_ALE.")
endif()

# LibTorch and NVIDIA's libraries lie below the program, or in site-packages beside its folder.
set(rpath [[$ORIGIN]])
foreach(folder torch/lib nvidia/cu13/lib nvidia/cudnn/lib)
  list(APPEND rpath "\$ORIGIN/${folder}" "\$ORIGIN/../${folder}")
endforeach()
set(installed fathom_bench)
foreach(library fathom_cuda fathom_mpi fathom_onednn)
  if(TARGET ${library})
    list(APPEND installed ${library})
  endif()
endforeach()
set_target_properties(${installed} PROPERTIES INSTALL_RPATH "${rpath}")
if(TARGET fathom_mpi)
  set_target_properties(fathom_mpi PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)  # an MPI belongs to its machine
endif()
install(TARGETS ${installed} RUNTIME_DEPENDENCY_SET libraries
  RUNTIME DESTINATION ${FATHOM_INSTALL_DIR} COMPONENT fathom_bench
  LIBRARY DESTINATION ${FATHOM_INSTALL_DIR} COMPONENT fathom_bench)
install(RUNTIME_DEPENDENCY_SET libraries
  PRE_INCLUDE_REGEXES "^lib(FLAC|benchmark|jpeg|ogg|png16|pugixml|z)[.]" PRE_EXCLUDE_REGEXES .
  DESTINATION ${FATHOM_INSTALL_DIR} COMPONENT fathom_bench)
if(TARGET fathom_onednn)
  install(FILES $<TARGET_FILE:fathom::onednn> DESTINATION ${FATHOM_INSTALL_DIR} COMPONENT fathom_bench)
endif()

# The licences of these libraries, where Debian's packages or a wheel brought them.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/packages.txt" packages REGEX "-dev$")
list(REMOVE_ITEM packages libgtest-dev)
foreach(package ${packages} libogg-dev)
  if(EXISTS /usr/share/doc/${package}/copyright)
    install(FILES /usr/share/doc/${package}/copyright RENAME ${package}
      DESTINATION ${FATHOM_INSTALL_DIR}/licenses COMPONENT fathom_bench)
  endif()
endforeach()
file(GLOB licence "${FATHOM_DEPS_DIR}/onednn/lib/python3.*/site-packages/onednn_cpu_gomp-*.dist-info/LICENSE.txt")
if(licence AND NOT DNNL_ROOT)
  install(FILES ${licence} RENAME oneDNN DESTINATION ${FATHOM_INSTALL_DIR}/licenses COMPONENT fathom_bench)
endif()

set(files FILES_MATCHING PATTERN "*.so*" PATTERN "libshm*" EXCLUDE PATTERN "*python*" EXCLUDE)
install(DIRECTORY "${FATHOM_TORCH_DIR}/lib" DESTINATION ${FATHOM_INSTALL_DIR}/torch COMPONENT libtorch
  ${files} REGEX "(torch_cuda|c10_cuda|nvrtc|nvshmem)[^/]*$" EXCLUDE)
set(nvidia "${FATHOM_TORCH_DIR}/../nvidia")
if(EXISTS "${nvidia}/cu13/lib")  # libtorch_cpu.so of PyPI needs these two without a GPU, too
  install(DIRECTORY "${nvidia}/cu13/lib" DESTINATION ${FATHOM_INSTALL_DIR}/nvidia/cu13 COMPONENT libtorch
    FILES_MATCHING REGEX "lib(cudart|cupti)[.]so[^/]*$")
endif()
if(FATHOM_CUDA_ENABLED)
  install(DIRECTORY "${FATHOM_TORCH_DIR}/lib" DESTINATION ${FATHOM_INSTALL_DIR}/torch COMPONENT cuda ${files})
  if(EXISTS "${nvidia}")
    install(DIRECTORY "${nvidia}" DESTINATION ${FATHOM_INSTALL_DIR} COMPONENT cuda
      FILES_MATCHING PATTERN "*.so*" PATTERN include EXCLUDE)
  endif()
endif()

install(DIRECTORY docs DESTINATION share/fathom_bench COMPONENT tree)
install(FILES LICENSE README.md DESTINATION share/fathom_bench COMPONENT tree)
cmake_path(RELATIVE_PATH FATHOM_INSTALL_DIR BASE_DIRECTORY bin OUTPUT_VARIABLE from_bin)
install(CODE "
  set(bin \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin\")
  file(MAKE_DIRECTORY \"\${bin}\")
  file(CREATE_LINK \"${from_bin}/fathom_bench\" \"\${bin}/fathom_bench\" SYMBOLIC)" COMPONENT tree)
