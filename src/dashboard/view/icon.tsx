/** @jsxRuntime automatic @jsxImportSource preact */
import { iconShapes } from './icon-shapes.ts';

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

/** The first letters of a name or an email address, in a circle, or a square for an organization. */
export function Avatar({ name, isSquare = false }: { name: string; isSquare?: boolean }) {
  const words = name
    .replace(/@.*/, '')
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
  const letters = words.slice(0, 2).map((word) => [...word][0]?.toUpperCase());
  return (
    <span class={isSquare ? 'avatar square' : 'avatar'} aria-hidden="true">
      {letters.join('') || '?'}
    </span>
  );
}

/** Line drawings for lists without entries. */
const drawings = {
  posts: [
    <path d="M14 12h56v48a6 6 0 0 1-6 6H20a6 6 0 0 1-6-6zM70 26h12v34a6 6 0 0 1-6 6H64" />,
    <path d="M24 38h16v16H24zM48 38h12M48 46h12M48 54h12" />,
    <path class="spot" d="M24 24h36" />,
  ],
  deliveries: [
    <path d="M12 40h20l5 9h22l5-9h20v18a6 6 0 0 1-6 6H18a6 6 0 0 1-6-6zM12 40l10-18h8M84 40 74 22h-8" />,
    <path class="spot" d="M48 8v26M39 25l9 9 9-9" />,
  ],
  integrations: [
    <path d="M8 44h20M28 32v24h8a12 12 0 0 0 0-24zM46 38h8M46 50h8M88 44H74M74 30v28h-6a14 14 0 0 1 0-28z" />,
    <path class="spot" d="M56 20l3-8M66 20l7-6M48 18l-3-8" />,
  ],
  images: [
    <path d="M14 12h62v46a6 6 0 0 1-6 6H20a6 6 0 0 1-6-6zM14 54l18-18 14 14M40 44l12-12 24 24" />,
    <path class="spot" d="M40 25a5 5 0 1 1-10 0 5 5 0 0 1 10 0" />,
  ],
  search: [
    <path d="M14 16h40M14 28h26M14 40h20M14 52h26" />,
    <path class="spot" d="M74 40a14 14 0 1 1-28 0 14 14 0 0 1 28 0zM70 50l14 14" />,
  ],
};

export type DrawingName = keyof typeof drawings;

export function Drawing({ name }: { name: DrawingName }) {
  return (
    <svg class="drawing" viewBox="0 0 96 72" aria-hidden="true">
      {drawings[name]}
    </svg>
  );
}
