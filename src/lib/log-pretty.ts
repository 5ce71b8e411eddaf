import { withoutControls } from './text.ts';

// Lines of the log for people.

const COLORS: Readonly<Record<string, number>> = { debug: 34, info: 32, warn: 33, error: 31 };
const MESSAGE_COLOR = 36;

interface Told {
  readonly type?: string;
  readonly message?: string;
  readonly stack?: string;
  readonly cause?: Told;
}

/** `[12:34:56.789] ERROR: what happened {"about":"it"}`, with the stacks of an error below. */
export function prettyLine(line: string, hasColor: boolean): string {
  const { level, time, msg, err, ...fields } = JSON.parse(line) as Record<string, unknown> & { err?: Told };
  const paint = (text: string, color = 0) => (hasColor ? `\u001b[${color}m${text}\u001b[39m` : text);
  const at = new Date(String(time));
  const clock = `${at.toTimeString().slice(0, 8)}.${String(at.getMilliseconds()).padStart(3, '0')}`;
  const name = paint(String(level).toUpperCase(), COLORS[String(level)]);
  const rest = Object.keys(fields).length === 0 ? '' : ` ${JSON.stringify(fields)}`;
  const head = `[${clock}] ${name}: ${paint(withoutControls(String(msg ?? '')), MESSAGE_COLOR)}${rest}`;
  return `${[head, ...stacksOf(err)].join('\n')}\n`;
}

function stacksOf(error: Told | undefined, label = ''): string[] {
  if (error === undefined) return [];
  const { type, message, stack, cause, ...about } = error;
  const facts = Object.keys(about).length === 0 ? '' : ` ${JSON.stringify(about)}`;
  const text = `${label}${stack ?? `${type}: ${message}`}${facts}`;
  const indented = withoutControls(text).replaceAll(/^/gm, '    ');
  return [indented, ...stacksOf(cause, 'caused by ')];
}
