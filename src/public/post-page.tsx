/** @jsxRuntime automatic @jsxImportSource preact */
import { AppError } from '../lib/app-error.ts';
import { isId } from '../lib/text.ts';
import { imageIdsIn, withRelativeMedia } from '../markdown/media.ts';
import { texts } from '../markdown/texts.ts';
import { listMediaSizes } from '../media/store.ts';
import type { Post } from '../posts/model.ts';
import { findPost } from '../posts/store.ts';
import type { PublicText, PublicView } from './kept.ts';
import { PUBLIC_POSTS } from './model.ts';
import { Day, renderPage, type Site, siteOf, summaryOf } from './page.tsx';
import { findNeighbors, type PostLine } from './post-store.ts';

const MAX_DESCRIPTION = 160;

/** A post of the page. Throws `AppError` 404. */
export async function readPublicPost({ tx, publication }: PublicView, postId: string): Promise<Post> {
  const json = isId(postId) ? await findPost(tx, publication.organizationId, postId, PUBLIC_POSTS) : null;
  if (json === null) throw new AppError(404, 'This post does not exist or is not public');
  return json;
}

export async function renderPost(view: PublicView, publicUrl: string, postId: string): Promise<PublicText> {
  const { tx, publication } = view;
  const post = await readPublicPost(view, postId);
  const site = await siteOf(tx, publication, publicUrl);
  const markdown = withRelativeMedia(post.markdown, publicUrl);
  const neighbors = await findNeighbors(tx, publication.organizationId, post);
  const sizes = await listMediaSizes(tx, imageIdsIn(markdown));
  return async () => {
    const article = { level: 2, hasAnchors: true, sizes: Object.fromEntries(sizes) } as const;
    const html = await texts.html(markdown, { mediaBase: site.mediaBase, article });
    return renderPage(site, {
      title: post.title,
      description: summaryOf(post, MAX_DESCRIPTION),
      path: `/${post.id}`,
      markdownPath: `/${post.id}.md`,
      imagePath: `/${post.id}.png`,
      publishedAt: post.createdAt,
      q: '',
      children: (
        <>
          <article class="post">
            <p class="when">
              <Day at={post.createdAt} />
            </p>
            <h1 dir="auto">{post.title}</h1>
            <div class="prose" dir="auto" dangerouslySetInnerHTML={{ __html: html }} />
          </article>
          <Neighbors site={site} {...neighbors} />
        </>
      ),
    });
  };
}

function Neighbors({
  site,
  newer,
  older,
}: {
  site: Site;
  newer: PostLine | undefined;
  older: PostLine | undefined;
}) {
  return (
    <nav class="neighbors" aria-label="More posts">
      {newer === undefined ? null : (
        <a href={`${site.base}/${newer.id}`} rel="prev">
          <span>Newer</span>
          <strong>
            <bdi>{newer.title}</bdi>
          </strong>
        </a>
      )}
      {older === undefined ? null : (
        <a href={`${site.base}/${older.id}`} rel="next" class="older">
          <span>Older</span>
          <strong>
            <bdi>{older.title}</bdi>
          </strong>
        </a>
      )}
      <a href={site.base} class="all">
        All posts
      </a>
    </nav>
  );
}
