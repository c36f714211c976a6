/**
 * Takes the keys out of a parsed value that change prototypes once somebody copies it: `Object.assign({}, value)` sets
 * the copy's prototype from an own `__proto__`, and a merge that walks `constructor.prototype` reaches the one prototype
 * of the whole process. `constructor` stays where it is ordinary data, without an own `prototype`.
 *
 * Changes the value in place. Recursion is safe, since the depth is limited before.
 */
export function dropPrototypeKeys(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) dropPrototypeKeys(item);
    return;
  }
  Reflect.deleteProperty(value, '__proto__');
  const object = value as Record<string, unknown>;
  if (Object.hasOwn(object, 'constructor') && hasOwnPrototype(object.constructor)) {
    Reflect.deleteProperty(object, 'constructor');
  }
  for (const key of Object.keys(object)) dropPrototypeKeys(object[key]);
}

function hasOwnPrototype(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype');
}
