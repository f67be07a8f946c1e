import { render } from "preact";
import "./style.css";
import { App } from "./app";

const place = document.getElementById("app");
if (place) render(<App block={document.getElementById("data")} />, place);
