import { EnvelopeStory } from '@relay/story';

const TIMEOUT_MS = 15_000;

/** Where the operations app is, and who asks; names are those of docs/configuration.md. */
export interface OperationsSettings {
  readonly OPERATIONS_URL: string;
  readonly OPERATOR_CLIENT_ID?: string | undefined;
  readonly OPERATOR_CLIENT_SECRET?: string | undefined;
}

/** The operations app as an operator sees it from elsewhere. */
export class OperationsApi {
  private constructor(
    private readonly url: string,
    private readonly authorization: string,
  ) {}

  /** @throws Error when the operator is not named */
  static of({ OPERATIONS_URL, OPERATOR_CLIENT_ID, OPERATOR_CLIENT_SECRET }: OperationsSettings): OperationsApi {
    if (OPERATOR_CLIENT_ID === undefined || OPERATOR_CLIENT_SECRET === undefined)
      throw new Error(
        'OPERATOR_CLIENT_ID and OPERATOR_CLIENT_SECRET are not set: `relay operators create NAME` prints both',
      );
    const credential = Buffer.from(`${OPERATOR_CLIENT_ID}:${OPERATOR_CLIENT_SECRET}`).toString('base64');
    return new OperationsApi(OPERATIONS_URL.replace(/\/+$/, ''), `Basic ${credential}`);
  }

  /** Undefined when nothing is known of the envelope. @param clue `type` and `around`, or nothing. @throws Error when the app does not answer, or refuses */
  async story(id: string, clue: Readonly<Record<string, string>>): Promise<EnvelopeStory | undefined> {
    const response = await this.#get(`/envelopes/${id}?${new URLSearchParams(clue).toString()}`);
    if (response.status === 404) return undefined;
    if (!response.ok)
      throw new Error(`The operations app refuses: HTTP ${response.status}, ${await detailOf(response)}`);
    return EnvelopeStory.parse(await response.json());
  }

  async #get(path: string): Promise<Response> {
    const { authorization } = this;
    try {
      return await fetch(this.url + path, {
        headers: { authorization },
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
    } catch (cause) {
      throw new Error(`The operations app does not answer at ${this.url}: start it, or correct OPERATIONS_URL`, {
        cause,
      });
    }
  }
}

async function detailOf(response: Response): Promise<string> {
  const text = await response.text();
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    return typeof detail === 'string' ? detail : text.slice(0, 200);
  } catch {
    return text.slice(0, 200);
  }
}
