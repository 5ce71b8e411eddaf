import type { Figure, Goal } from './goals.ts';

/** A goal with what was measured. */
export interface Row {
  goal: Goal;
  figure: Figure | null;
  /** Why there is no figure. */
  reason?: string;
  /** The figure of an earlier run. */
  before?: number | undefined;
}

/** One Markdown table. `hasBefore` adds the figures of an earlier run. */
export function goalTable(rows: readonly Row[], hasBefore: boolean): string {
  const head = [
    '',
    'goal',
    'measured',
    'rounds',
    ...(hasBefore ? ['before'] : []),
    'met',
    'processor time for a request, ours / theirs',
  ];
  const lines = rows.map(({ goal, figure, reason, before }) => [
    goal.name,
    `${goal.bound === 'min' ? '≥' : '≤'} ${format(goal, goal.limit)}`,
    figure === null ? 'not measured' : `**${format(goal, figure.value)}**`,
    figure === null ? '' : describeSpread(goal, figure),
    ...(hasBefore ? [before === undefined ? '–' : format(goal, before)] : []),
    figure === null ? asCell(reason ?? '') : verdict(goal, figure),
    figure?.cpu === undefined ? '' : describeCpu(figure.cpu),
  ]);
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** On a busy machine, requests a second and processor time disagree. */
function verdict(goal: Goal, { value, cpu }: Figure): string {
  const meets = (figure: number) => (goal.bound === 'min' ? figure >= goal.limit : figure <= goal.limit);
  if (cpu === undefined || meets(value) === meets(cpu.ratio)) return meets(value) ? 'yes' : 'no';
  return meets(value) ? 'only in requests a second' : 'only in processor time';
}

function describeSpread(goal: Goal, { lowest, highest }: Figure): string {
  if (lowest === undefined || highest === undefined) return '';
  return `${format(goal, lowest)}–${format(goal, highest)}`;
}

function describeCpu({ ours, other, ratio }: NonNullable<Figure['cpu']>): string {
  const micros = (value: number) => value.toFixed(value < 100 ? 1 : 0);
  return `${micros(ours)} / ${micros(other)} µs: ${ratio.toFixed(2)}`;
}

function format({ unit }: Goal, value: number): string {
  if (unit === 'ratio') return value.toFixed(value < 10 ? 2 : 1);
  return `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`;
}

/** One line without a column's mark. */
const asCell = (text: string) => text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|');
