import { type ComponentChildren, createContext, type VNode } from 'preact';
import { useContext } from 'preact/hooks';
import { AppError } from '../../lib/app-error.ts';
import { withRelativeMedia } from '../../lib/markdown/media.ts';
import { texts } from '../../lib/markdown/texts.ts';
import { capitalized } from '../../lib/text.ts';
import { DAY_MS, formatDay, formatExactly, formatTime } from '../../lib/time.ts';
import type { DashboardDeps, MemberVisit, Visit } from '../page.ts';
import { iconShapes } from './icon-shapes.ts';

export { count as counted } from '../../lib/text.ts';

/** The context of every component of a page. */
export interface PageContext extends MemberVisit {
  now: Date;
}

const VisitContext = createContext<Visit | null>(null);

export function ForVisit({ visit, children }: { visit: Visit; children: ComponentChildren }) {
  const context = { ...visit, now: visit.deps.clock.now() };
  return <VisitContext.Provider value={context}>{children}</VisitContext.Provider>;
}

/** The visit of the page. Only pages of an organization may ask for what members alone have, such as `base`. */
export function useVisit(): PageContext {
  const visit = useContext(VisitContext);
  if (visit === null) throw new Error('the component is on no page');
  return visit as PageContext;
}

/** The address that a component leads to: below the organization, unless it begins with a slash. */
export function useHref(to: string): string {
  return hrefOf(useVisit(), to);
}

export function hrefOf({ base }: Pick<Visit, 'base'>, to: string): string {
  return base === undefined || /^(?:[/?#]|https?:)/.test(to) ? to : `${base}/${to}`;
}

export function Link(props: { to: string; class?: string; title?: string; children: ComponentChildren }) {
  return (
    <a class={props.class} href={useHref(props.to)} title={props.title}>
      {props.children}
    </a>
  );
}

export function LinkButton({ to, label, kind }: { to: string; label: string; kind?: 'go' | undefined }) {
  return (
    <Link class={kind === undefined ? 'button' : `button ${kind}`} to={to}>
      {label}
    </Link>
  );
}

export function Section({ id, title, children }: { id: string; title: string; children: ComponentChildren }) {
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

export function More(props: {
  label: ComponentChildren;
  isOpen?: boolean;
  kind?: string;
  children: ComponentChildren;
}) {
  const { label, isOpen = false, kind = 'more', children } = props;
  return (
    <details class={kind} open={isOpen}>
      <summary>{label}</summary>
      {children}
    </details>
  );
}

export function Columns({ children, details }: { children: ComponentChildren; details: ComponentChildren }) {
  return (
    <div class="columns">
      <div>{children}</div>
      <aside>{details}</aside>
    </div>
  );
}

export type Fact = readonly [name: string, value: ComponentChildren];

/** Names and values; without a value, a name is left out. `row`: beside each other, above what they are about. */
export function Facts({ facts, kind }: { facts: readonly Fact[]; kind?: 'row' | 'mono' }) {
  return (
    <dl class={kind === undefined ? 'facts card' : `facts card ${kind}`}>
      {facts.map(
        ([name, value]) =>
          value !== false &&
          value != null && (
            <>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </>
          ),
      )}
    </dl>
  );
}

export function Segments(props: {
  label: string;
  items: readonly { to: string; label: ComponentChildren; isCurrent: boolean }[];
}) {
  return (
    <nav class="segments" aria-label={props.label}>
      {props.items.map(({ to, label, isCurrent }) => (
        <a href={hrefOf(useVisit(), to)} aria-current={isCurrent ? 'page' : undefined}>
          {label}
        </a>
      ))}
    </nav>
  );
}

export function Status({ status, more = '' }: { status: string; more?: string }) {
  return (
    <span class={`tag ${status}`}>
      {capitalized(status)}
      {more}
    </span>
  );
}

/** Copies a text, or the text of the element with the id `text`. The script shows the button. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  return (
    <button type="button" class="button" data-copy={text} data-script hidden>
      <Icon name="copy" />
      <span>{label}</span>
    </button>
  );
}

/** An id with a small button that copies it. `name`: for a screen reader, such as "delivery ID". */
export function Id({ value, name }: { value: string; name: string }) {
  return (
    <span class="id">
      <code>{value}</code>
      <button type="button" class="close" data-copy={value} title={`Copy ${name}`} data-script hidden>
        <Icon name="copy" />
        <span class="hidden">Copy {name}</span>
      </button>
    </span>
  );
}

export function ToCopy(props: Parameters<typeof Copy>[0]) {
  return (
    <div class="once">
      <code>{props.text}</code>
      <Copy {...props} />
    </div>
  );
}

/** Values to enter elsewhere, each below its label. */
export function ValuesToCopy(props: {
  values: readonly (readonly [label: string, value: string, copy: string])[];
}) {
  return (
    <div class="card pad">
      {props.values.map(([label, value, copy]) => (
        <>
          <p class="label">{label}</p>
          <ToCopy text={value} label={copy} />
        </>
      ))}
    </div>
  );
}

/** A sentence with each quoted name isolated, so that a right-to-left name does not reorder the rest. */
export function Quoted({ text }: { text: string }) {
  const parts = text.split(/(?<=“)([^”]*)(?=”)/);
  return <>{parts.map((part, at) => (at % 2 === 1 ? <bdi key={at}>{part}</bdi> : part))}</>;
}

/** Renders Markdown of any length, or says why there is no preview. */
export async function proseOf(
  { publicUrl }: Pick<DashboardDeps, 'publicUrl'>,
  stored: string,
): Promise<VNode> {
  try {
    const html = await texts.html(withRelativeMedia(stored, publicUrl()));
    // The one place for it: the renderer lets nothing active through.
    return <div class="prose" dangerouslySetInnerHTML={{ __html: html }} />;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return <p class="error">No preview: {error.message}.</p>;
  }
}

export type IconName = keyof typeof iconShapes;

/** An icon beside a word, or in a button with an `aria-label`: screen readers skip it. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      class="icon"
      viewBox="0 0 24 24"
      aria-hidden="true"
      // Shapes of our own module.
      dangerouslySetInnerHTML={{ __html: iconShapes[name] }}
    />
  );
}

/** Units of times within a day, each up to the next. */
const units: readonly [name: string, ms: number, belowMs: number][] = [
  ['s', 1_000, 60_000],
  ['min', 60_000, 3_600_000],
  ['h', 3_600_000, DAY_MS],
];

/** A time such as "12 s ago", "yesterday", "Nov 18, 2026" or "in 3 days". */
export function When({ at }: { at: string | number }): VNode {
  const { now } = useVisit();
  return <Time at={at} text={(time, zone) => relative(time, now, zone)} />;
}

/** A time such as "Nov 18, 2026, 17:02". */
export function Clock({ at }: { at: string | number }): VNode {
  return <Time at={at} text={(time, zone) => formatTime(time, zone)} />;
}

/** A time to the second. */
export function Exactly({ at }: { at: string | number }): VNode {
  return <Time at={at} text={(time, zone) => formatTime(time, zone, 'second')} />;
}

/** A time in the person's zone, with the exact one as its title. */
function Time({ at, text }: { at: string | number; text: (time: Date, zone: string) => string }) {
  const { zone } = useVisit().look;
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return <span>{at}</span>;
  return (
    <time datetime={time.toISOString()} title={formatExactly(time, zone)}>
      {text(time, zone)}
    </time>
  );
}

function relative(time: Date, now: Date, zone: string): string {
  const ms = now.getTime() - time.getTime();
  const distance = Math.abs(ms);
  if (distance < 1_000) return 'just now';
  const [name, unitMs = 1] = units.find(([, , belowMs]) => distance < belowMs) ?? [];
  const amount = `${Math.floor(distance / unitMs)} ${name}`;
  if (name !== undefined) return ms > 0 ? `${amount} ago` : `in ${amount}`;
  const days = Math.round(distance / DAY_MS);
  if (ms > 0) return distance < 2 * DAY_MS ? 'yesterday' : formatDay(time, zone);
  if (days > 30) return formatDay(time, zone);
  return days === 1 ? 'tomorrow' : `in ${days} days`;
}
