/** What is wrong with one field of a form, as a sentence; null when the message is about something else. */
export function problemWith(field: string, label: string, message: string | undefined): string | null {
  return message?.startsWith(`${field} `) ? `${label} ${message.slice(field.length + 1)}` : null;
}
