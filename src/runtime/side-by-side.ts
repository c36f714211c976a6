/**
 * Does the same work for each item, so many of them at once, in their order.
 *
 * @throws What the first one to fail threw, when those under way have ended; no further one is begun then.
 */
export async function sideBySide<Item>(
  atOnce: number,
  items: Iterable<Item>,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  let failure: { readonly error: unknown } | undefined;
  const inTurn = async (): Promise<void> => {
    for (let next = rest.next(); !next.done && !failure; next = rest.next()) {
      try {
        await work(next.value);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, inTurn));
  if (failure) throw failure.error;
}
