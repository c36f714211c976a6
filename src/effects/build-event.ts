import { OnefoldError } from '../errors.js';
import type { Source } from '../sources/define-source.js';
import { parseJson } from '../sources/parse-json.js';
import { dataDigest } from './data-digest.js';
import type { ReceivedEvent } from './event.js';
import { issuesInWords } from './issues-in-words.js';

/** What is known of an event beside its payload. */
export interface EventEnvelope {
  readonly tenant: string;
  readonly id: string;
  readonly type: string;
  readonly receivedAt: string;
  readonly occurredAt?: string;
}

/** The shortest run of digits that a double may round. */
const longNumber = /\d{16}/;

/**
 * Makes the event that business code sees, its data judged and shaped by the schema of its type.
 *
 * The digest is of what the schema returned, which is all that an effect is given as `data`: a schema that describes the
 * whole payload so leaves out what differs in every event, such as its id and times, by not naming it. `types<T>()` returns
 * everything, and then its long numbers are compared exactly.
 *
 * @param json The event's JSON text.
 * @throws {OnefoldError} `data_invalid` naming the fields at fault, never their values.
 */
export async function buildEvent(
  source: Source,
  envelope: EventEnvelope,
  json: string,
): Promise<{ readonly event: ReceivedEvent; readonly dataDigest: string }> {
  const schema = source.events[envelope.type];
  if (!schema) {
    throw new OnefoldError('data_invalid', `source '${source.name}' has no event type '${envelope.type}' any more`);
  }
  const parsed = parseJson(Buffer.from(json));
  if ('ok' in parsed && !parsed.ok) throw new OnefoldError('data_invalid', parsed.message);
  const data = source.preset.dataOf(parsed.value);
  const checked = await schema['~standard'].validate(data);
  if (checked.issues) {
    throw new OnefoldError(
      'data_invalid',
      `the data of '${envelope.type}' do not match their schema: ${issuesInWords(checked.issues)}`,
    );
  }
  const untouched = checked.value === data && longNumber.test(json);
  return {
    dataDigest: dataDigest(untouched ? source.preset.dataOf(parsed.lossless()) : checked.value),
    event: {
      source: source.name,
      type: envelope.type,
      id: envelope.id,
      tenant: envelope.tenant,
      data: checked.value,
      receivedAt: new Date(envelope.receivedAt),
      ...(envelope.occurredAt === undefined ? {} : { occurredAt: new Date(envelope.occurredAt) }),
      raw: json,
      lossless: () => parsed.lossless(),
    },
  };
}
