// An object in parts: begun, sent, completed; taken back where that fails.
#pragma once

#include "agent/src/objects/s3/part_plan.h"
#include "agent/src/objects/s3/s3_writer.h"

namespace ratoon::objects {

[[nodiscard]] Result<UploadedObject> upload_in_parts(S3Writer& writer, const PartPlan& plan,
                                                     ObjectSource& source, const UploadOptions& options);

}  // namespace ratoon::objects
