-- After every 64 pages of new words, FTS5 merges as much of the index in one commit. Small pages make the merges short.
INSERT INTO `post_search` (`post_search`, `rank`) VALUES ('pgsz', 1000);
