import { Page } from './page.js';

describe('a page', () => {
  it.each(['../../package.json', 'index.html', 'main-AAAAAAAA.js/../x', 'main.js', '', 'main-aaaaaaaa.js'])(
    'has no file %j',
    async (name) => {
      expect(await new Page('portal').file(name)).toBeUndefined();
    },
  );

  it('that was not built has no document', async () => {
    expect(await new Page('no-such-app').document()).toBeUndefined();
  });
});
