import { notFound } from 'next/navigation';
import { tidings } from '../../../lib/tidings.js';

export const revalidate = 3600;

export async function generateStaticParams() {
  const { posts } = await tidings.listPosts({ contentType: 'changelog', limit: 50 });
  return posts.map(({ id }) => ({ id }));
}

export default async function Post({ params }) {
  const { id } = await params;
  const isId = /^[A-Za-z0-9_-]{1,64}$/.test(id);
  const post = isId ? await tidings.getPost(id, { contentType: 'changelog' }) : null;
  if (post === null) notFound();
  return (
    <article>
      <h1>{post.title}</h1>
      <pre>{post.markdown}</pre>
    </article>
  );
}
