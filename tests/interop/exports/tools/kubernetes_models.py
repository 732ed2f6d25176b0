# SPDX-License-Identifier: Apache-2.0
"""Kubernetes: the YAML goes through the models that were generated from the resources' OpenAPI schemas and back again.

What a model does not know is lost on the way, and what has another type comes back as another value; both are found by
comparing. PyTorchJob's models are Kubeflow's training SDK, JobSet's are in Kubeflow's trainer API.
"""
import importlib.metadata
import json

import kubernetes.client.models
import yaml
from kubernetes.client import ApiClient
from kubeflow.training import models as training_models
from kubeflow_trainer_api.models.jobset_v1alpha2_job_set import JobsetV1alpha2JobSet

TARGETS = ["pytorchjob", "jobset"]
for name in dir(training_models):
    if name.startswith("KubeflowOrgV1"):
        setattr(kubernetes.client.models, name, getattr(training_models, name))


def what():
    return (f"kubeflow-training {importlib.metadata.version('kubeflow-training')}, "
            f"kubeflow-trainer-api {importlib.metadata.version('kubeflow-trainer-api')}")


def through_pytorch_job(document):
    client = ApiClient()
    response = type("Response", (), {"data": json.dumps(document)})
    return client.sanitize_for_serialization(client.deserialize(response, "KubeflowOrgV1PyTorchJob"))


def through_job_set(document):
    return json.loads(JobsetV1alpha2JobSet.from_json(json.dumps(document)).to_json())


def differences(sent, back, path=""):
    """Dotted paths whose value is lost or changed."""
    if isinstance(sent, dict) and isinstance(back, dict):
        for key, value in sent.items():
            yield from differences(value, back.get(key), f"{path}.{key}")
    elif isinstance(sent, list) and isinstance(back, list) and len(sent) == len(back):
        for i, (one, other) in enumerate(zip(sent, back)):
            yield from differences(one, other, f"{path}[{i}]")
    elif sent != back or type(sent) is not type(back):
        yield f"{path}: {sent!r} became {back!r}"


def gpus(template):
    return sum(int(container["resources"]["limits"].get("nvidia.com/gpu", 0)) for container in template["spec"]["containers"])


def read(path, plan):
    with open(path) as file:
        document = yaml.safe_load(file)
    spec = document["spec"]
    if plan["target"] == "pytorchjob":
        back = through_pytorch_job(document)
        pods = sum(replica["replicas"] * gpus(replica["template"]) for replica in spec["pytorchReplicaSpecs"].values())
    else:
        back = through_job_set(document)
        pods = sum(job["replicas"] * job["template"]["spec"]["parallelism"] * gpus(job["template"]["spec"]["template"])
                   for job in spec["replicatedJobs"])
    return {"lost or changed": (list(differences(document, back)), []), "GPUs": (pods, plan["world_size"]),
            "name": (len(document["metadata"]["name"]) <= 50, True)}
