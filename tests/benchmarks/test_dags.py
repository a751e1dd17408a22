"""The graphs that are measured are DAGs of the size that the page names."""

import pytest

from benchmarks.dag_part import SHAPES, Shape, definition_of
from conductor_py.wire.definition_reader import DefinitionReader


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.key)
def test_a_shape_is_a_dag_in_each_of_its_sizes(shape: Shape) -> None:
    for size in (shape.small, min(shape.large, 400)):
        read = DefinitionReader().workflow(definition_of("w", size, shape.relations))
        assert len(read.tasks) == size
        led_to = {relation.post_task for relation in read.relations}
        assert 0 < size - len(led_to) < size
