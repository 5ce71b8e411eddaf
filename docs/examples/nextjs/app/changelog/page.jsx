import { tidings } from '../../lib/tidings.js';

export const revalidate = 3600;

export default async function Changelog() {
  const { posts } = await tidings.listPosts({ contentType: 'changelog', limit: 50 });
  return (
    <ul>
      {posts.map(({ id, title }) => (
        <li key={id}>
          <a href={`/changelog/${id}`}>{title}</a>
        </li>
      ))}
    </ul>
  );
}
