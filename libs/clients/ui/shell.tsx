import { Component, type ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Asked, cameTo, Said } from './ask.js';
import { drawn } from './drawer.js';
import { Notice } from './parts.js';
import { fragmentOf, openOver, place, type Place } from './place.js';
import { NoSuchPath } from './request.js';

interface Section {
  readonly name: string;
  readonly path: readonly string[];
  /** First segments of the other routes that belong to this section. */
  readonly also?: readonly string[];
}

interface ShellProps {
  readonly sections?: readonly Section[];
  /** Shown at the end of the header, for example the user's name and the logout button. */
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** Returns the name of the product. The document has another one if the operator of the relay chose it. */
const productName = (): string =>
  document.querySelector<HTMLMetaElement>('meta[name=application-name]')?.content ?? 'Partner Relay';

/** The frame of every page: a skip link, the navigation, messages, and the page itself. */
export function Shell({ sections = [], aside, children }: ShellProps) {
  const here = place.value.path[0] ?? '';
  const logo = document.querySelector<HTMLLinkElement>('#logo')?.href;
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="head">
        <p class="brand">
          {logo !== undefined && <img src={logo} alt="" />}
          {productName()}
        </p>
        <nav aria-label="Sections">
          <ul>
            {sections.map(({ name, path, also = [] }) => (
              <li key={name}>
                <a href={fragmentOf(path)} aria-current={[path[0] ?? '', ...also].includes(here) ? 'page' : undefined}>
                  {name}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        {aside !== undefined && <div class="aside">{aside}</div>}
      </header>
      <main id="main" tabIndex={-1}>
        <Said />
        <Boundary at={place.value}>{children}</Boundary>
      </main>
      <Asked />
    </>
  );
}

interface BoundaryProps {
  /** The route that is shown. After an error, a new route is rendered again. */
  readonly at: Place;
  readonly children: ComponentChildren;
}

/** Limits an error to the screen in which it happened. The frame stays, and the next screen is shown. */
class Boundary extends Component<BoundaryProps, { readonly at?: Place; readonly error?: unknown }> {
  override componentDidCatch(error: unknown): void {
    this.setState({ at: this.props.at, error });
  }

  render() {
    const { at, error } = this.state;
    if (at !== this.props.at) return this.props.children;
    if (error instanceof NoSuchPath) return <h1>There is no such page</h1>;
    return (
      <Notice kind="bad" title="This page met a fault">
        <p>Load it again, or go on to another.</p>
      </Notice>
    );
  }
}

interface ScreenProps {
  readonly title: string;
  /** Buttons beside the title, for the actions of this screen. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

let isFirst = true;

/** One screen. Its title gets the focus when the user goes there, so that screen readers read it aloud. */
export function Screen({ title, actions, children }: ScreenProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const shown = drawn.value ?? title;
  useEffect(() => {
    document.title = `${shown} – ${productName()}`;
  }, [shown]);
  // A layout effect runs before the user can do anything. Otherwise the title could take the focus from a field that the
  // user has just entered.
  useLayoutEffect(() => {
    if (!isFirst) {
      heading.current?.focus();
      cameTo();
    }
    isFirst = false;
  }, []);
  return (
    <>
      <div class="screen-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {actions !== undefined && <div class="buttons">{actions}</div>}
      </div>
      {children}
    </>
  );
}

interface LinkProps {
  readonly to: readonly string[];
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly isButton?: boolean;
  readonly isMain?: boolean;
  /** The text of the link; used if it has no children. */
  readonly name?: ComponentChildren;
  /** Name for screen readers. It contains the text, and tells the link from others with the same text. */
  readonly label?: string;
  /** Whether the route lies over the current one, as that of a drawer. */
  readonly isOver?: boolean;
  readonly children?: ComponentChildren;
}

/** A link to another route of this app. */
export function Link({ to, query, isButton, isMain, isOver, label, name, children = name }: LinkProps) {
  const kinds = [isButton === true && 'button', isMain === true && 'main'];
  const fragment = fragmentOf(to, query);
  const open = (event: MouseEvent): void => {
    // The browser opens another tab or window by itself.
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openOver(fragment);
  };
  return (
    <a
      href={fragment}
      class={kinds.filter(Boolean).join(' ')}
      aria-label={label}
      onClick={isOver === true ? open : undefined}
    >
      {children}
    </a>
  );
}
