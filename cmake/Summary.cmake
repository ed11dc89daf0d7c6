# One line that says what this build contains.
if(PROJECT_IS_TOP_LEVEL)
  message(STATUS "ratoon ${PROJECT_VERSION}: http ${RATOON_WITH_HTTP}, mds ${RATOON_WITH_MDS}, torch ${RATOON_WITH_TORCH}, "
                 "cuda ${RATOON_WITH_CUDA}, sanitize '${RATOON_SANITIZE}', fuzz ${RATOON_FUZZ}, werror ${RATOON_WERROR}")
endif()
