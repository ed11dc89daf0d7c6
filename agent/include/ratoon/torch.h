// Includes all headers of Ratoon that a training program with LibTorch needs. The program itself includes
// torch/torch.h or the LibTorch headers that it uses.
//
//   #include <torch/torch.h>
//   #include <ratoon/torch.h>
//
//   session.track("net", *net);
//   session.average_gradients(*net);
#pragma once

#include <ratoon/session/early_stopping.h>
#include <ratoon/session/epochs.h>
#include <ratoon/stream.h>
#include <ratoon/torch/atomic_save.h>
#include <ratoon/torch/average_gradients.h>
#include <ratoon/torch/batch_tensor.h>
#include <ratoon/torch/dataset_batches.h>
#include <ratoon/torch/device.h>
#include <ratoon/torch/device_dataset.h>
#include <ratoon/torch/digest.h>
#include <ratoon/torch/loss_scaler.h>
#include <ratoon/torch/numerics.h>
#include <ratoon/torch/order_sampler.h>
#include <ratoon/torch/stream_sampler.h>
#include <ratoon/torch/track.h>
#include <ratoon/train.h>
