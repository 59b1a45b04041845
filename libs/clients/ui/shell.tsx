import { Component, type ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Asked, cameTo, Said } from './ask.js';
import { Notice } from './parts.js';
import { fragmentOf, place, type Place } from './place.js';
import { NoSuchPath } from './request.js';

interface ShellProps {
  readonly sections?: readonly { readonly name: string; readonly path: readonly string[] }[];
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
            {sections.map((section) => (
              <li key={section.name}>
                <a href={fragmentOf(section.path)} aria-current={(section.path[0] ?? '') === here ? 'page' : undefined}>
                  {section.name}
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
  useEffect(() => {
    document.title = `${title} – ${productName()}`;
  }, [title]);
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
  /** The text of the link; used if it has no children. */
  readonly name?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** A link to another route of this app. */
export const Link = ({ to, query, isButton = false, name, children = name }: LinkProps) => (
  <a href={fragmentOf(to, query)} class={isButton ? 'button' : ''}>
    {children}
  </a>
);
