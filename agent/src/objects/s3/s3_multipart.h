// Uploads an object in parts: begins the upload, sends the parts and completes the upload. After a failure,
// aborts the upload.
#pragma once

#include "agent/src/objects/s3/protocol/part_plan.h"
#include "agent/src/objects/s3/s3_writer.h"

namespace ratoon::objects {

[[nodiscard]] Result<UploadedObject> upload_in_parts(S3Writer& writer, const PartPlan& plan,
                                                     ObjectSource& source, const UploadOptions& options);

}  // namespace ratoon::objects
