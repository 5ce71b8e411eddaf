import { expect, test } from 'bun:test';
import { createRegistry } from '../../src/lib/metrics.ts';

test('counters, gauges and histograms in the text format 0.0.4', async () => {
  const registry = createRegistry();
  const counter = registry.counter('a_total', 'How many.', ['kind', 'status']);
  counter('x', '200').value++;
  counter('x', '200').value++;
  counter('y', '404').value++;
  const durations = registry.histogram('b_seconds', 'How long.', ['kind'], [0.1, 1])('x');
  for (const seconds of [0.05, 0.1, 0.5, 2]) durations.observe(seconds);
  registry.gauge('c', 'How much.', () => 7);
  registry.gauge('d', 'Of each.', () => [{ labels: { of: 'one' }, value: 1.5 }, { value: 2 }]);
  registry.gauge('e', 'Not known.', () => null);
  expect(await registry.render()).toBe(`# HELP a_total How many.
# TYPE a_total counter
a_total{kind="x",status="200"} 2
a_total{kind="y",status="404"} 1
# HELP b_seconds How long.
# TYPE b_seconds histogram
b_seconds_bucket{kind="x",le="0.1"} 2
b_seconds_bucket{kind="x",le="1"} 3
b_seconds_bucket{kind="x",le="+Inf"} 4
b_seconds_sum{kind="x"} 2.65
b_seconds_count{kind="x"} 4
# HELP c How much.
# TYPE c gauge
c 7
# HELP d Of each.
# TYPE d gauge
d{of="one"} 1.5
d 2
# HELP e Not known.
# TYPE e gauge
`);
});

test('a label and a help text cannot break out of their line', async () => {
  const registry = createRegistry();
  registry.counter('a_total', 'One\nand \\ two.', ['name'])('"} 1\nb 2\\').value++;
  expect(await registry.render()).toBe(
    '# HELP a_total One\\nand \\\\ two.\n# TYPE a_total counter\na_total{name="\\"} 1\\nb 2\\\\"} 1\n',
  );
});

test('a name stands for one metric', async () => {
  const registry = createRegistry();
  registry.counter('a_total', 'A.', []);
  expect(() => registry.counter('a_total', 'A.', [])).toThrow('a_total exists already');
  registry.gauge('b', 'B.', () => 1);
  registry.gauge('b', 'B.', () => 2);
  expect(await registry.render()).toEndWith('# TYPE b gauge\nb 2\n');
});
