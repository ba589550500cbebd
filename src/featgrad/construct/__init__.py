"""Features constructed as they are needed: priced by the gradient before they are built."""
