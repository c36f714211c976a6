import type { StandardSchemaV1 } from '@standard-schema/spec';
import { expect, expectTypeOf, it } from 'vitest';
import { types } from '../../src/sources/types.js';

interface Paid {
  readonly order: string;
}

it('types a payload and lets every value through unchanged', () => {
  const schema = types<Paid>();
  expectTypeOf<StandardSchemaV1.InferOutput<typeof schema>>().toEqualTypeOf<Paid>();
  for (const value of [{ order: 'ord_1' }, null, 5, undefined]) {
    expect(schema['~standard'].validate(value)).toEqual({ value });
  }
});
