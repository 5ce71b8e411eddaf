/** A change of something that is stored, or a function of what is stored now, which runs in the transaction that writes. */
export type ChangeOf<Stored, Change> = Change | ((stored: Stored) => Change);

export function changeFor<Stored, Change extends object>(
  stored: Stored,
  change: ChangeOf<Stored, Change>,
): Change {
  return typeof change === 'function' ? change(stored) : change;
}
