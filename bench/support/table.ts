import type { Figure, Goal } from './run.ts';

/** A goal with what was found, and the figure of an earlier run. */
export interface Row {
  goal: Goal;
  found: Figure | string;
  before?: number | undefined;
}

/** One Markdown table. `hasBefore` adds the figures of an earlier run. */
export function goalTable(rows: readonly Row[], hasBefore: boolean): string {
  const head = [
    ...['', 'goal', 'measured', 'rounds'],
    ...(hasBefore ? ['before'] : []),
    ...['met', 'processor time for a request, ours / theirs'],
  ];
  const lines = rows.map(({ goal, found, before }) => {
    const figure = typeof found === 'string' ? null : found;
    return [
      goal.name,
      `${goal.bound} ${format(goal, goal.limit)}`,
      figure === null ? 'not measured' : `**${format(goal, figure.value)}**`,
      figure === null ? '' : describeRounds(goal, figure),
      ...(hasBefore ? [before === undefined ? '–' : format(goal, before)] : []),
      typeof found === 'string' ? asCell(found) : verdict(goal, found),
      figure?.cpu === undefined ? '' : describeCpu(figure.cpu),
    ];
  });
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** On a busy machine, requests a second and processor time disagree. */
function verdict({ bound, limit }: Goal, { value, cpu }: Figure): string {
  const meets = (figure: number) => (bound === '≥' ? figure >= limit : figure <= limit);
  if (cpu === undefined || meets(value) === meets(cpu.ratio)) return meets(value) ? 'yes' : 'no';
  return meets(value) ? 'only in requests a second' : 'only in processor time';
}

function describeRounds(goal: Goal, { lowest, highest, about = '' }: Figure): string {
  if (lowest === undefined || highest === undefined) return about;
  return `${format(goal, lowest)}–${format(goal, highest)}`;
}

function describeCpu({ ours, theirs, ratio }: NonNullable<Figure['cpu']>): string {
  const micros = (value: number) => value.toFixed(value < 100 ? 1 : 0);
  return `${micros(ours)} / ${micros(theirs)} µs: ${ratio.toFixed(2)}`;
}

function format({ unit }: Goal, value: number): string {
  if (unit === 'ratio') return value.toFixed(value < 10 ? 2 : 1);
  return `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`;
}

/** The start of a text on one line, without a column's mark. */
const asCell = (text: string) => text.slice(0, 200).replaceAll(/\s+/g, ' ').replaceAll('|', '\\|');
