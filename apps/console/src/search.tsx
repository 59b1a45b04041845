import { Empty, fragmentOf, Link, Loaded, place, replace, Screen, useLoad } from '@relay/ui';
import { Attempts } from './attempts.js';
import { type Found, find } from './find.js';

/** What one search box finds: an envelope, a webhook or a client leads to its page; anything else is a list. */
export function Search() {
  const { q = '', webhook } = place.value.query;
  if (webhook !== undefined)
    return (
      <Screen title="Attempts of a webhook">
        <p>
          <Link to={['webhooks', webhook]}>{webhook}</Link>
        </p>
        <Attempts query={{ webhook }} />
      </Screen>
    );
  return <Results q={q} />;
}

function Results({ q }: { readonly q: string }) {
  const load = useLoad(q, async () => {
    const found = await find(q);
    const [only] = found.places;
    if (only !== undefined && found.places.length === 1 && found.attempts === undefined) replace(fragmentOf(only.path));
    return found;
  });
  return (
    <Screen title={`Search: ${q}`}>
      <Loaded of={load} what="what is found">
        {(found) => <Shown found={found} />}
      </Loaded>
    </Screen>
  );
}

const Shown = ({ found: { places, attempts } }: { readonly found: Found }) => (
  <>
    {places.length === 0 && attempts === undefined && (
      <Empty title="Nothing has this id or name">
        <p>
          Search for the id of an envelope or a webhook, the id or name of a client, or the host of an endpoint. Of an
          envelope that was never attempted, its page asks for more.
        </p>
      </Empty>
    )}
    {places.length > 0 && (
      <ul>
        {places.map(({ path, name }) => (
          <li key={path.join('/')}>
            <Link to={path}>{name}</Link>
          </li>
        ))}
      </ul>
    )}
    {attempts !== undefined && (
      <>
        <h2>Attempts at {attempts.host}</h2>
        <Attempts query={attempts} />
      </>
    )}
  </>
);
