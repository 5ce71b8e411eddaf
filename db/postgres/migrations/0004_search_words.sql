-- oldest compatible: 4
ALTER TABLE posts ADD COLUMN search_words text COLLATE "C";

CREATE OR REPLACE FUNCTION make_post_searchable() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  title text[] := search_words(left(new.title, 5000));
  content text[] := search_words(left(new.content, 250000));
  others text[] := search_words(left(coalesce(new.search_words, ''), 250000));
BEGIN
  INSERT INTO post_search (post_id, words, terms) VALUES (
    new.id,
    ' ' || array_to_string(title, ' ') || E' \n ' || array_to_string(content, ' ') || E' \n '
      || array_to_string(others, ' ') || ' ',
    array_to_tsvector(
      title || content || others
      || ARRAY[':organization:' || new.organization_id, ':status:' || new.status, ':type:' || new.content_type]
    )
  )
  ON CONFLICT (post_id) DO UPDATE SET words = excluded.words, terms = excluded.terms;
  RETURN NULL;
END $$;
DROP TRIGGER posts_searchable_on_update ON posts;
CREATE TRIGGER posts_searchable_on_update AFTER UPDATE ON posts
FOR EACH ROW WHEN (
  old.title <> new.title OR old.content <> new.content OR old.status <> new.status
  OR old.content_type <> new.content_type OR old.search_words IS DISTINCT FROM new.search_words
) EXECUTE FUNCTION make_post_searchable();

-- What `search-words.ts` writes for new texts: characters of Chinese, Japanese and Korean stand alone, and no letter stands
-- before a version. This writes more words than that, which does no harm.
UPDATE posts SET search_words = regexp_replace(
  regexp_replace(left(title || E'\n' || content, 100000), '\mv(?=\d+\.\d)', '', 'gi'), '[぀-ヿㄱ-ㆎ㐀-䶿一-鿿가-힣豈-﫿]', ' \& ', 'g'
)
WHERE title ~ '[぀-ヿㄱ-ㆎ㐀-䶿一-鿿가-힣豈-﫿]' OR content ~ '[぀-ヿㄱ-ㆎ㐀-䶿一-鿿가-힣豈-﫿]' OR title ~* '\mv\d+\.\d' OR content ~* '\mv\d+\.\d';
