"""What the chart's check needs of YAML: manifests as JSON, valid ones for a version of Kubernetes, and the schemas of CRDs as files."""

import json
import pathlib
import sys

import jsonschema
import kubernetes_validate
import yaml


def closed(schema):
    """As the API server prunes and `kubectl --validate=strict` refuses: no field that the schema does not name."""
    if isinstance(schema, dict):
        if "properties" in schema and "additionalProperties" not in schema:
            if not schema.get("x-kubernetes-preserve-unknown-fields"):
                schema["additionalProperties"] = False
        for value in schema.values():
            closed(value)
    elif isinstance(schema, list):
        for value in schema:
            closed(value)
    return schema


def write_schemas(target, files):
    for file in files:
        for crd in yaml.safe_load_all(pathlib.Path(file).read_text()):
            if not crd or crd.get("kind") != "CustomResourceDefinition":
                continue
            for version in crd["spec"]["versions"]:
                schema = closed(version["schema"]["openAPIV3Schema"])
                schema["properties"]["metadata"] = {"type": "object"}
                name = schema_name(crd["spec"]["names"]["kind"], f"{crd['spec']['group']}/{version['name']}")
                (pathlib.Path(target) / name).write_text(json.dumps(schema))


def schema_name(kind, api_version):
    group, _, version = api_version.rpartition("/")
    return f"{kind.lower()}-{group.split('.')[0]}-{version}.json"


def faults(manifest, version, definitions):
    """Strict: a field that Kubernetes does not know is a fault. Kinds of other projects by their own schemas."""
    file = pathlib.Path(definitions) / schema_name(manifest["kind"], manifest["apiVersion"])
    try:
        if file.exists():
            jsonschema.Draft202012Validator(json.loads(file.read_text())).validate(manifest)
        else:
            kubernetes_validate.validate(manifest, version, strict=True)
    except (kubernetes_validate.ValidationError, jsonschema.ValidationError) as error:
        return [f"at {'.'.join(map(str, error.path))}: {error.message}"]
    except kubernetes_validate.SchemaNotFoundError as error:
        return [error.message]
    return []


match sys.argv[1]:
    case "to-json":
        print(json.dumps([document for document in yaml.safe_load_all(sys.stdin) if document]))
    case "validate":
        wrong = [
            f"{document['kind']} {document['metadata']['name']} {fault}"
            for document in yaml.safe_load_all(sys.stdin)
            if document
            for fault in faults(document, *sys.argv[2:4])
        ]
        print("\n".join(wrong), end="")
    case "schemas":
        write_schemas(sys.argv[2], sys.argv[3:])
