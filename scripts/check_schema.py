"""Checks JSON files against a JSON Schema: check_schema.py SCHEMA FILE..."""

import json
import sys
from pathlib import Path

from jsonschema.validators import validator_for


def main(schema_path: str, *paths: str) -> int:
    schema = json.loads(Path(schema_path).read_text())
    validator = validator_for(schema)
    validator.check_schema(schema)
    failed = 0
    for path in paths:
        errors = list(validator(schema).iter_errors(json.loads(Path(path).read_text())))
        for error in errors[:20]:
            print(f"{path}: {error.json_path}: {error.message[:300]}", file=sys.stderr)
        print(f"{path}: {len(errors)} errors against {schema_path}")
        failed += bool(errors)
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
