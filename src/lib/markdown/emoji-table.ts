import { nameToEmoji } from 'gemoji';

/** GitHub's shortcodes with their emoji, `tada 🎉` in each line. Runs when the code is built: the rest of the package is large. */
export function emojiTable(): string {
  return Object.entries(nameToEmoji)
    .map(([name, emoji]) => `${name} ${emoji}`)
    .join('\n');
}
