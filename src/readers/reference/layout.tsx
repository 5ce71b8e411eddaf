import type { ComponentChildren } from 'preact';

interface Titled {
  id: string;
  title: string;
  children: ComponentChildren;
}

function Anchor({ id, title }: Pick<Titled, 'id' | 'title'>) {
  return (
    <a class="anchor" href={`#${id}`} aria-label={`Link to ${title}`}>
      #
    </a>
  );
}

export function Section({ id, title, children }: Titled) {
  return (
    <section aria-labelledby={`heading-${id}`} id={id} data-find="Section" data-title={title}>
      <div class="heading">
        <h2 id={`heading-${id}`}>{title}</h2>
        <Anchor id={id} title={title} />
      </div>
      {children}
    </section>
  );
}

/** `kind`: its kind for the search. */
export function Article({ id, title, kind, children }: Titled & { kind: string }) {
  return (
    <article id={id} aria-labelledby={`heading-${id}`} data-find={kind} data-title={title}>
      <div class="heading">
        <h3 id={`heading-${id}`}>{title}</h3>
        <Anchor id={id} title={title} />
      </div>
      {children}
    </article>
  );
}
