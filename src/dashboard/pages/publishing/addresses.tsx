/** @jsxRuntime automatic @jsxImportSource preact */
import { publicAddresses } from '../../../public/addresses.ts';
import type { Publication } from '../../../public/model.ts';
import type { MemberVisit } from '../../page.ts';
import { LinkButton, Status, ToCopy } from '../../view/elements.tsx';

/** What is on, and where readers find it. */
export function Addresses({
  visit: { deps, base },
  publication,
}: {
  visit: MemberVisit;
  publication: Publication;
}) {
  const { page, feeds, widget } = publicAddresses(publication, deps.publicUrl());
  return (
    <>
      <section class="card pad publish" aria-labelledby="part-page">
        <div class="head">
          <h2 id="part-page">Public page</h2>
          <OnOff isOn={page !== null} />
        </div>
        {page === null ? (
          <p class="hint">A web page with your published changelog posts, newest first.</p>
        ) : (
          <>
            <h3 class="label">Address</h3>
            <ToCopy text={page} label="Copy" />
            <LinkButton to={page} label="Open page" />
          </>
        )}
      </section>
      <section class="card pad publish" aria-labelledby="part-feeds">
        <div class="head">
          <h2 id="part-feeds">Feeds and widget</h2>
          <OnOff isOn={feeds !== null} />
        </div>
        {feeds === null || widget === null ? (
          <p class="hint">Atom, RSS and JSON feeds, and “What’s new” for your own site.</p>
        ) : (
          <>
            <h3 class="label">Atom</h3>
            <ToCopy text={feeds.atom} label="Copy" />
            <h3 class="label">RSS</h3>
            <ToCopy text={feeds.rss} label="Copy" />
            <h3 class="label">JSON Feed</h3>
            <ToCopy text={feeds.json} label="Copy" />
            <h3 class="label">Widget (HTML)</h3>
            <ToCopy text={widget} label="Copy" />
            {page === null ? (
              <p class="hint">
                The public page is off, so the link in this code is dead without the script. Switch the page
                on, or change <code>href</code> to your own changelog.
              </p>
            ) : null}
          </>
        )}
      </section>
      <section class="card pad publish" aria-labelledby="part-agents">
        <div class="head">
          <h2 id="part-agents">Agents</h2>
          <OnOff isOn={publication.isMcpOn} />
        </div>
        <p class="hint">Agents read published posts over MCP with an API key.</p>
        <LinkButton to={`${base}/publishing/agents`} label="Set up agents" />
      </section>
    </>
  );
}

function OnOff({ isOn }: { isOn: boolean }) {
  return <Status status={isOn ? 'active' : 'disabled'} />;
}
