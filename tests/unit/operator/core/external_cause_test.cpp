// Texts of exceptions as libraries write them.
#include "operator/core/loss/fault/external_cause.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/core/loss/fault/missing_path.h"
#include "operator/core/loss/fault/program_fault.h"
#include "operator/core/loss/fault/repeated_fault.h"

namespace ratoon::core::external_cause_test {
namespace {

using testing::HasSubstr;

std::string fault_of_cpp(const std::string& exception) {
  return find_fault("ratoon: the training function threw " + exception + "\n");
}

std::string fault_of_python(const std::string& exception) {
  return find_fault("Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\n" + exception +
                    "\n");
}

TEST(ExternalCause, AreInWhatFilesServersAndDevicesSay) {
  for (const char* text : {
           "std::runtime_error: cannot open /mnt/data/train.bin: Stale file handle",
           "std::runtime_error: Host is unreachable",
           "std::runtime_error: Temporary failure in name resolution",
           "std::runtime_error: HTTP 503 Service Unavailable",
           "std::runtime_error: 429 Too Many Requests",
           "std::runtime_error: 10.0.0.3 says nothing",
           "std::runtime_error: bad magic in '/data/train.bin'",
           "std::runtime_error: Input/output error",
           "std::runtime_error: Too many open files",
           "std::runtime_error: pthread_create: Resource temporarily unavailable",
           "std::runtime_error: connection reset by peer",
           "c10::Error: PytorchStreamReader failed reading zip archive: failed finding central directory",
           "c10::Error: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
           "c10::Error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)",
           "c10::Error: HIP error: hipErrorNoDevice",
           "c10::Error: CUDA error: uncorrectable ECC error encountered",
           "gloo::EnforceNotMet: writev [10.0.0.3]:4411: Broken pipe",
           "gloo::IoException: Read error",
           "std::runtime_error: NFS server data1 not responding",
           "std::runtime_error: stale NFS handle",
           "std::runtime_error: Lustre client evicted",
           "std::runtime_error: failed to mount data set",
           "std::runtime_error: no GPU found",
           "std::runtime_error: device 3 fell off the bus",
           "std::runtime_error: NVIDIA driver too old",
           "std::runtime_error: database is locked",
           "std::runtime_error: the database system is starting up",
           "std::runtime_error: S3 error: InternalError",
           "std::runtime_error: We encountered an internal error. Please try again.",
           "std::runtime_error: token expired",
           "std::runtime_error: license server busy",
           "std::runtime_error: Failed to download weights after 3 attempts",
           "std::runtime_error: short read",
       })
    EXPECT_EQ(fault_of_cpp(text), "") << text;
  for (const char* text : {
           "requests.exceptions.HTTPError: 503 Server Error: Service Unavailable for url: https://hub/x",
           "botocore.exceptions.EndpointConnectionError: Could not",
           "botocore.exceptions.NoCredentialsError: Unable to locate credentials",
           "socket.gaierror: [Errno -3] Temporary failure in name resolution",
           "RuntimeError: DataLoader worker (pid 12) is killed by signal: Bus error. ",
           "RuntimeError: DataLoader worker (pid(s) 7, 8) exited unexpectedly",
           "InterruptedError: x",
           "zipfile.BadZipFile: File is not a zip file",
           "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
           "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge",
           "ssl.SSLEOFError: EOF occurred in violation of protocol",
           "grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC",
           "huggingface_hub.errors.LocalEntryNotFoundError: An error happened",
           "wandb.errors.CommError: Error with run initialisation",
           "kubernetes.client.exceptions.ApiException: (503)",
           "datasets.exceptions.DatasetNotFoundError: Dataset 'x' doesn't exist on the Hub or cannot be "
           "accessed.",
           "ray.exceptions.RayActorError: The actor died unexpectedly",
           "PIL.UnidentifiedImageError: cannot identify image file",
       })
    EXPECT_EQ(fault_of_python(text), "") << text;
}

TEST(ExternalCause, AreWhatTheSystemSaysOfItsErrors) {
  for (int number = 1; number < 134; ++number) {
    const std::string text = std::strerror(number);
    if (text.starts_with("Unknown error") || number == EINVAL || number == EDOM || number == ERANGE) continue;
    if (number == ENOENT || number == ENOTDIR || number == EISDIR || number == ENAMETOOLONG) continue;
    EXPECT_EQ(fault_of_cpp("std::runtime_error: the shard: " + text), "") << text;
  }
}

TEST(MissingPath, IsWhatLibrariesSayOfOne) {
  for (const std::string text : {
           "std::runtime_error: shard.00012.mds: No such file or directory",
           "std::system_error: opening data/trian.bin: No such file or directory",
           "std::runtime_error: cannot open /mnt/nfs/data/train.bin: No such file or directory",
           "std::filesystem::__cxx11::filesystem_error: filesystem error: directory iterator cannot open "
           "directory: No such file or directory [/data/imgs]",
           "std::filesystem::__cxx11::filesystem_error: filesystem error: cannot get file size: Is a "
           "directory [/data/imgs]",
           "c10::Error: open file failed because of errno 2 on fopen: No such file or directory, file path: "
           "weights.pt",
       }) {
    EXPECT_TRUE(is_missing_path(text)) << text;
    EXPECT_THAT(fault_of_cpp(text), HasSubstr(text)) << "with its numbers";
  }
  for (const std::string& text : std::vector<std::string>{
           "FileNotFoundError: [Errno 2] No such file or directory: '/data/downloads/train.csv'",
           "NotADirectoryError: [Errno 20] Not a directory: 'x'",
           "OSError: [Errno 36] File name too long: '/data/" + std::string(300, 'x') + "'",
       })
    EXPECT_THAT(fault_of_python(text), HasSubstr(text));
}

TEST(MissingPath, IsNoSocketDeviceLibraryOrServer) {
  for (const char* text : {
           "std::runtime_error: connect: No such file or directory",
           "std::runtime_error: connecting to /tmp/agent.sock: No such file or directory",
           "std::runtime_error: /dev/nvidia0: No such file or directory",
           "std::runtime_error: /sys/class/infiniband: No such file or directory",
           "std::runtime_error: libcuda.so.1: cannot open shared object file: No such file or directory",
           "std::runtime_error: https://data/train.bin: No such file or directory",
           "std::runtime_error: 10.0.0.3: No such file or directory",
           "std::runtime_error: NFS server data1: No such file or directory",
           "std::runtime_error: CUDA error: no kernel: No such file or directory",
           "botocore.exceptions.ClientError: NoSuchBucket: No such file or directory",
           "std::runtime_error: opening data/train.bin: Stale file handle",
           "std::runtime_error: opening data/train.bin: Permission denied",
           "std::runtime_error: opening data/train.bin: Input/output error",
           "std::runtime_error: opening data/train.bin: Too many open files",
           "std::runtime_error: cannot open data/train.bin",
       }) {
    EXPECT_FALSE(is_missing_path(text)) << text;
    EXPECT_EQ(fault_of_cpp(text), "") << text;
  }
  EXPECT_FALSE(is_missing_path("std::out_of_range: no layer 17 of 12"));
}

TEST(ExternalCause, AreNotInWhatProgramsDoWrong) {
  for (const char* text : {
           "std::out_of_range: no layer 17 of 12",
           "std::invalid_argument: stoi",
           "std::domain_error: Numerical argument out of domain",
           "std::logic_error: the neural network has 3 fully connected layers, and 4 sizes and/or names",
           "c10::Error: mat1 and mat2 shapes cannot be multiplied (64x784 and 512x10)",
           "c10::Error: shape '[2, 3]' is invalid for input of size 7",
           "c10::Error: Expected a class label from 0.0 to 9.0, found 11.5",
           "nlohmann::json_abi_v3_11_3::detail::type_error: [json.exception.type_error.302] type must be "
           "number, but is string",
       })
    EXPECT_TRUE(is_program_fault(fault_of_cpp(text))) << text;
  for (const char* text : {
           "KeyError: 'x41'",
           "IndexError: list index out of range",
           "ZeroDivisionError: division by zero",
           "ValueError: Invalid argument: lr must be positive",
           "TypeError: unsupported operand type(s) for /: 'str' and 'int'",
           "AttributeError: 'Net' object has no attribute 'fc9'",
           "ModuleNotFoundError: No module named 'models.resnet'",
           "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, "
           "cuda:0 and cpu!",
           "RuntimeError: Error(s) in loading state_dict for Net:",
       })
    EXPECT_TRUE(is_program_fault(fault_of_python(text))) << text;
}

}  // namespace
}  // namespace ratoon::core::external_cause_test
