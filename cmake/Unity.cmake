# ratoon_unity(target): compiles the files of a folder together, a few at a time, so that a header is read once for all
# of them: a build of everything takes a quarter of the processor time.
#
# The groups follow the folders, and not the order of a list, so that a file that is added can only meet the names of its
# own folder. A name in an anonymous namespace is therefore unique in its folder; a test file has a namespace of its own.
# The preset each-file compiles each file of the product alone; nightly builds it, so that no file needs what another one
# includes. CMake's own UNITY_BUILD writes absolute paths, and a cache of compilations would miss in another clone.
set(RATOON_UNITY_FILES 10)

function(ratoon_unity target)
  if(NOT RATOON_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(SORT sources)
  set(alone "")
  set(folders "")
  foreach(source IN LISTS sources)
    get_filename_component(path ${source} ABSOLUTE)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${path})
    get_filename_component(folder ${path} DIRECTORY)
    string(MAKE_C_IDENTIFIER "${folder}" key)
    get_source_file_property(is_alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    if(path MATCHES "^(\\.\\.|build)/" OR NOT path MATCHES "\\.cpp$" OR is_alone)
      list(APPEND alone ${source})
    else()
      list(APPEND folders ${key})
      list(APPEND files_${key} ${path})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(together "")
  foreach(key IN LISTS folders)
    # Equal shares: 11 files are 6 and 5, not 10 and 1.
    list(LENGTH files_${key} count)
    math(EXPR groups "(${count} + ${RATOON_UNITY_FILES} - 1) / ${RATOON_UNITY_FILES}")
    math(EXPR share "(${count} + ${groups} - 1) / ${groups}")
    foreach(group RANGE 1 ${groups})
      math(EXPR first "(${group} - 1) * ${share}")
      list(SUBLIST files_${key} ${first} ${share} files)
      list(TRANSFORM files REPLACE "(.+)" "#include \"\\1\"\n")
      list(JOIN files "" text)
      set(file ${PROJECT_BINARY_DIR}/unity/${target}/${key}_${group}.cpp)
      file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
      list(APPEND together ${file})
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES SOURCES "${together};${alone}")
  # A type in an anonymous namespace of an included file is as local as one of the file itself.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()
